"""What `render` is made of: conversations, templates, safe encoding, cutting, padding, the fingerprint."""
