"""The admin socket: how the host of a running server looks at it and tells it what to do."""
