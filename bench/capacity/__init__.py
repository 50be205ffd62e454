"""What one slot can carry, and what more of them cost the server."""
