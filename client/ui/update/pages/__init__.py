"""What keys and clicks do, page by page."""
