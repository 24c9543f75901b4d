"""Finding servers on the network, and what is known of them before one of them is joined."""
