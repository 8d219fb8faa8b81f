"""The worker, the process in which rows run. __main__.py starts it, protocol.py speaks with the
parent."""
