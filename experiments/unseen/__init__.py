"""The methods of the harness on a public collection of which nothing was chosen by results."""
