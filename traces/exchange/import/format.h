// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "traces/format/storage/chunk_source.h"

namespace ringscope::traces {

/// A format of recordings that can be opened. A foreign format is a file in this folder whose
/// open() fills a MemorySource or returns a ChunkSource of its own.
struct Format {
  const char* name;  ///< in the plural, with its usual suffix
  /// Reports whether a file whose content begins with these bytes has this format; a short file is
  /// padded with zeros. Null: a recording of this format is always a folder.
  bool (*begins)(std::span<const std::uint8_t> head);
  /// Opens a recording. Throws inputError with the file's name.
  std::shared_ptr<ChunkSource> (*open)(const std::string& path);
  /// Returns the paths of the plain files in a folder that belong to a recording; empty when the
  /// folder holds none. Null: a recording of this format is always a file.
  std::vector<std::string> (*files)(const std::string& folder) = nullptr;
};

/// Returns all formats. Every file can be compressed by gzip, except the databases of
/// RingScope and of Nsight Systems and the files of a recorded job. A new format is a file in this
/// folder and a line in registry.cpp.
std::span<const Format> formats();

/// Recognise and open RingScope's own format.
bool beginsAsRscope(std::span<const std::uint8_t> head);
std::shared_ptr<ChunkSource> openRscope(const std::string& path);

/// Find and open a folder with one file per rank, as the Python package writes it
/// (traces/recorder/FORMAT.md). Damaged lines and values are reported and left out.
std::vector<std::string> filesOfRecording(const std::string& folder);
std::shared_ptr<ChunkSource> openRecording(const std::string& folder);

/// Recognise, find and open JSON of PyTorch's profiler (Kineto): one file, or a folder with one
/// file per rank.
bool beginsAsKineto(std::span<const std::uint8_t> head);
std::vector<std::string> filesOfKineto(const std::string& folder);
std::shared_ptr<ChunkSource> openKineto(const std::string& path);

/// Recognise, find and open dumps of PyTorch's Flight Recorder: one dump, or a folder with one dump
/// per rank. A dump is JSON or a pickle. A pickle is read without running anything in it
/// (flight_recorder/pickle.h).
bool beginsAsFlightRecorder(std::span<const std::uint8_t> head);
std::vector<std::string> filesOfFlightRecorder(const std::string& folder);
std::shared_ptr<ChunkSource> openFlightRecorder(const std::string& path);

/// Recognise, find and open logs of NCCL's Inspector plugin: one log, or a folder with one log per
/// process of one rank.
bool beginsAsNcclInspector(std::span<const std::uint8_t> head);
std::vector<std::string> filesOfNcclInspector(const std::string& folder);
std::shared_ptr<ChunkSource> openNcclInspector(const std::string& path);

/// Recognise, find and open SQLite exports of Nsight Systems: one file, or a folder with one file
/// per rank. No view, trigger or function of the file runs (nsight/tables.h).
bool beginsAsNsight(std::span<const std::uint8_t> head);
std::vector<std::string> filesOfNsight(const std::string& folder);
std::shared_ptr<ChunkSource> openNsight(const std::string& path);

/// Recognise, find and open logs of PyTorch's DebugMode, as DebugMode.save_logs writes them: one
/// log, or a folder with one log per rank. A log has an order and no times.
bool beginsAsDebugMode(std::span<const std::uint8_t> head);
std::vector<std::string> filesOfDebugMode(const std::string& folder);
std::shared_ptr<ChunkSource> openDebugMode(const std::string& path);

/// Find and open a folder that holds files of several of the formats above except RingScope's own.
/// They are one job. The format that tells most about a rank gives its calls.
std::vector<std::string> filesOfMixed(const std::string& folder);
std::shared_ptr<ChunkSource> openMixed(const std::string& folder);

/// Opens a recording by its content, independent of its name. The path can be the address of a
/// recording on another machine (remote/remote_address.h). Throws inputError that lists the formats
/// when it has none of them.
std::shared_ptr<ChunkSource> openSource(const std::string& path);

/// Returns the bytes of a recording: of its file, or of the files in its folder that belong to it.
/// Returns 0 when there is nothing that could be opened.
std::uint64_t sizeOfRecording(const std::string& path);

}  // namespace ringscope::traces
