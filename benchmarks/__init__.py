"""How fast and how good: figures as ratios, taken side by side in one run. `make bench` prints them."""
