"""What calls take, what they may take, and who pays."""
