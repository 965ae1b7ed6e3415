"""What a sidecar does with handoffs: owning them, tailing them, taking over orphans."""
