#!/usr/bin/env python3
"""Django's command line for this project; owns nothing but the order of its two calls."""

import sys

from django.core.management import execute_from_command_line

from syncova_project import env

if __name__ == "__main__":
    env.use_settings_module()
    execute_from_command_line(sys.argv)
