"""The same decode loop with the step built on the host and on the device, timed, traced and drawn."""
