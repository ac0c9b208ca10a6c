// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace ringscope::traces {

/// A file or folder that a command line names, and by which option.
struct NamedPath {
  std::string option;  ///< "-o", "--text"
  std::string path;    ///< empty: not given
};

/// Refuses, before a command does anything, what could destroy a file: an output that is one of the
/// inputs, or two outputs that are one file. Files are told apart by what the system says they are,
/// so links and other spellings of a path are seen through. Also refuses an output whose place is
/// missing or cannot be written, so that nobody learns of it after long work. Throws inputError
/// that names both options.
void checkOutputs(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs);

/// Throws inputError when no file can be made or replaced at `path`. Changes nothing.
void checkWritable(const std::string& path);
/// The same for a folder that is there or will be made, with those above it.
void checkWritableFolder(const std::string& path);

/// True when both paths lead to one file, now or once it has been made.
bool isSameFile(const std::string& a, const std::string& b);

/// Waits until the disk has all of a file. Throws inputError where it cannot take it.
void waitForDisk(const std::string& path);

/// A file that is written beside its name and takes the name when it is whole, so that nobody finds
/// half a file, and a file of that name stays as it was when writing fails. What is not a plain
/// file, such as /dev/null, is written directly; a link is followed.
class OutputFile {
 public:
  /// Throws inputError when nothing can be written there.
  explicit OutputFile(const std::string& path);
  ~OutputFile();  ///< removes what did not get its name
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  /// Where the file is until it gets its name, for a writer that opens files by itself.
  const std::string& temporaryPath() const { return temporary_; }
  /// Where it will be: the path, with links followed.
  const std::string& finalPath() const { return target_; }
  /// Gives the file its name while it is still being written, for one that others follow.
  void publish();
  /// Closes the file and gives it its name. Throws inputError when not all of it could be written.
  void finish();

 private:
  [[noreturn]] void fail(int error) const;

  std::string path_, target_, temporary_;  // temporary_: empty once the file has its name
  std::ofstream stream_;
};

}  // namespace ringscope::traces
