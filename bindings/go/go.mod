module kalstream

go 1.19
