// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every command: COMMAND(Name, "name", "its line in --help"). To add a command, add a line here and
// a file commands/name.cpp in app/ringscope or app/ringscope-engine. That file defines void
// defineName(CLI::App& command, int& exit_code). The lists are macros so that ringscope can list
// the names and help lines of commands whose functions exist only in ringscope-engine.

/// Commands that train, attend or measure. ringscope hands them over to ringscope-engine.
#define RINGSCOPE_ENGINE_COMMANDS(COMMAND)                                                     \
  COMMAND(Train, "train", "Training steps under context parallelism")                          \
  COMMAND(Attend, "attend", "One attention forward and backward under context parallelism")    \
  COMMAND(Checkpoint, "checkpoint", "What a checkpoint holds; its weights as one safetensors") \
  COMMAND(Bench, "bench", "Named benchmarks with their peers in one run")

/// Commands that read recordings. ringscope runs them itself, without LibTorch.
#define RINGSCOPE_READING_COMMANDS(COMMAND)                                                       \
  COMMAND(Diff, "diff", "Where a run leaves unsharded attention first")                           \
  COMMAND(Doctor, "doctor", "Find sharding mistakes in a trace")                                  \
  COMMAND(Mistakes, "mistakes", "The catalogue of mistakes people make with context parallelism") \
  COMMAND(Verify, "verify", "Recompute recorded attention in fp64 and compare")                   \
  COMMAND(Info, "info", "What a trace holds")                                                     \
  COMMAND(Query, "query", "SQL over what a trace holds")                                          \
  COMMAND(Export, "export", "Write a trace for other programs")                                   \
  COMMAND(Import, "import", "Turn a recorded PyTorch job into a trace")                           \
  COMMAND(Listen, "listen", "Follow a PyTorch job while it runs; who waits for whom")             \
  COMMAND(Merge, "merge", "Join the files of rank processes, one a rank, into one trace")         \
  COMMAND(Predict, "predict", "What step time and exposed communication would be elsewhere")      \
  COMMAND(Gui, "gui", "Start the window")

/// Two arguments for the COMMAND parameter above, for use in namespace ringscope::app. The first
/// declares the function of a command; the second is an entry of an array of Command.
#define RINGSCOPE_DECLARE_COMMAND(Name, name, description) \
  void define##Name(CLI::App& command, int& exit_code);
#define RINGSCOPE_COMMAND_ENTRY(Name, name, description) {name, description, define##Name},
