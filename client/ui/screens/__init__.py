"""The screens of the client: what keys, clicks and news make of each, and how it is drawn."""
