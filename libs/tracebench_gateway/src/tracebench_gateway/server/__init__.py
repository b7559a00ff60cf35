"""The gateway: an OpenAI-compatible server on 127.0.0.1 that meters, caps, records and replays."""
