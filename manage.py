#!/usr/bin/env python3
"""Django's command line for this project; owns nothing but the order of its two calls."""

import sys

from syncova_project import env, manage_program

if __name__ == "__main__":
    env.use_settings_module()
    manage_program.run(sys.argv)
