// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace ringscope::traces {

/// A file or folder of a command line and the option that names it.
struct NamedPath {
  std::string option;  ///< "-o", "--text"
  std::string path;    ///< empty: the option was not given
};

/// Rejects, before a command does anything, outputs that could destroy a file: an output that is
/// one of the inputs, or two outputs that are one file. Compares files by the system's identity of
/// them, so links and other spellings of a path are recognised. Also rejects an output whose folder
/// is missing or not writable, so that a command does not fail after long work. Throws inputError
/// that names both options.
void checkOutputs(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs);

/// Throws inputError when no file can be created or replaced at `path`. Changes nothing.
void checkWritable(const std::string& path);
/// Checks a folder in the same way. The folder and its parents need not exist yet.
void checkWritableFolder(const std::string& path);

/// Returns whether both paths lead to one file, now or once the file has been created.
bool isSameFile(const std::string& a, const std::string& b);

/// Waits until all of a file is on the disk. Throws inputError when the disk cannot store it.
void waitForDisk(const std::string& path);

/// A file that is written under a temporary name and renamed when it is complete. Nobody finds half
/// a file, and an older file of that name stays as it was when writing fails. A path that is not a
/// plain file, such as /dev/null, is written directly. A link is followed.
class OutputFile {
 public:
  /// Opens the temporary file. Throws inputError when nothing can be written there.
  explicit OutputFile(const std::string& path);
  ~OutputFile();  ///< removes the temporary file if it was not renamed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  /// Returns the file's path until it is renamed, for a writer that opens files by itself.
  const std::string& temporaryPath() const { return temporary_; }
  /// Returns the file's final path, with links followed.
  const std::string& finalPath() const { return target_; }
  /// Renames the file while it is still being written, so that others can follow it.
  void publish();
  /// Closes the file and renames it. Throws inputError when not all of it could be written.
  void finish();

 private:
  [[noreturn]] void fail(int error) const;

  std::string path_, target_, temporary_;  // temporary_ is empty once the file is renamed
  std::ofstream stream_;
};

}  // namespace ringscope::traces
