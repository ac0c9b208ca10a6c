#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source is as clang-format 14 writes it. Usage: formatted.sh SOURCE CLANG_FORMAT
cd "$1" || exit 2
find app engine traces viz tests -name '*.cpp' -o -name '*.h' -o -name '*.cu' | sort |
  xargs "$2" --dry-run -Werror || { echo "write them with: $2 -i FILE…" >&2; exit 1; }
