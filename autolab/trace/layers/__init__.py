"""What a large graph is drawn as: parts that open and close, and cards of layers."""
