"""What can stand behind the gateway: litellm, the stub model, or a recording."""
