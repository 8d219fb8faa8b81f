"""The process in which rows run: __main__.py starts it, protocol.py is what it says and hears."""
