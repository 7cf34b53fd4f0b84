"""Where things are done: the `Platform` protocol and who implements it."""
