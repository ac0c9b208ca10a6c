// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "traces/format/core/error.h"

/// Expects that the statement throws ringscope::Error with this code and a message that contains
/// `words`.
#define EXPECT_ERROR(statement, expected_code, words)                                    \
  try {                                                                                  \
    statement;                                                                           \
    ADD_FAILURE() << "nothing was thrown";                                               \
  } catch (const ringscope::Error& error) {                                              \
    EXPECT_EQ(error.code(), expected_code);                                              \
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what(); \
  }
