"""What can stand behind the gateway: real models, the stub model, or a recording."""
