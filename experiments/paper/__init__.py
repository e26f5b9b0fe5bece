"""The paper's experiment: 27 data sets, 20 methods, 7 classifiers, 5 seeds, without data leakage."""
