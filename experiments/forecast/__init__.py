"""What forecast_bench.py is made of: series, scores, the program's side, rivals, tables."""
