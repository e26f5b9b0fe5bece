"""Studies of settings chosen from the data: methods compared, and candidates to choose from."""
