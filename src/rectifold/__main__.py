"""Run the command line: `python -m rectifold` is `rectifold`."""

from rectifold.cli import main

if __name__ == "__main__":
    main()
