"""Plans where what arrives is sent on in the next step."""
