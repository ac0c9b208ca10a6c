# SPDX-License-Identifier: Apache-2.0
# Writes the source file that names the commit of a build.
# Usage: cmake -DSOURCE=FOLDER -DOUTPUT=FILE [-DCOMMIT=ID] -P WriteCommit.cmake
# The commit is COMMIT if it is set. Otherwise git names the commit, or cmake/commit.txt, into which `git archive`
# writes it. Without all of these the commit is unknown.
set(commit "${COMMIT}")
if(commit STREQUAL "" AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND git -C "${SOURCE}" rev-parse HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(commit STREQUAL "" AND EXISTS "${SOURCE}/cmake/commit.txt")
  file(STRINGS "${SOURCE}/cmake/commit.txt" commit LIMIT_COUNT 1)
endif()
string(SUBSTRING "${commit}" 0 8 commit)
if(NOT commit MATCHES "^[0-9a-f]+$")
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
// SPDX-License-Identifier: Apache-2.0
#include "app/version/version.h"

const char* const ringscope::app::kCommit = "@commit@";
]])
