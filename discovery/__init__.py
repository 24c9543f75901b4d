"""How servers are found on the network: announcing them by multicast DNS, and hearing of them."""
