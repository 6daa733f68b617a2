"""Views: what a person should see, as blocks that every text renderer can print."""
