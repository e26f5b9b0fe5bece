"""The paper's experiment without data leakage: 27 data sets, 20 methods, 7 classifiers."""
