"""What the commands of `burnish` do; `burnish.cli` says how they are called."""
