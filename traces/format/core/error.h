// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace ringscope {

/// The kind of a failure. The command line derives its exit code from it.
enum class ErrorCode {
  kUsage,      ///< the request cannot be understood or makes no sense (exit 2)
  kInput,      ///< a file or stream given by the user is missing or broken (exit 2)
  kRunFailed,  ///< a run was started and a rank died, threw or timed out (exit 3)
};

/// The one exception type for expected failures: a code and one sentence for the user.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

inline Error usageError(const std::string& sentence) {
  return {ErrorCode::kUsage, sentence};
}
inline Error inputError(const std::string& sentence) {
  return {ErrorCode::kInput, sentence};
}
inline Error runFailed(const std::string& sentence) {
  return {ErrorCode::kRunFailed, sentence};
}

}  // namespace ringscope
