"""taken_port.py COMMAND...    Runs a command as rank 0 of two, whose port another program has."""
import os
import socket
import subprocess
import sys

import launch

with socket.create_server(("127.0.0.1", 0)) as other:
    sys.exit(subprocess.run(sys.argv[1:], env={**os.environ, **launch.variables(0, 2, other.getsockname()[1])}).returncode)
