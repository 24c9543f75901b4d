"""The network: a websocket to a server, and the connection over it that lasts."""
