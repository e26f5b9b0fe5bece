"""Run the command line by `python -m rectifold`."""

from rectifold.cli import main

if __name__ == "__main__":
    main()
