// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every command: COMMAND(Name, "name", "its line in --help"). To add a command, add a line here and
// a file commands/name.cpp in app/ringscope or app/ringscope-engine. That file defines void
// defineName(CLI::App& command, int& exit_code). The lists are macros so that ringscope can list
// the names and help lines of commands whose functions exist only in ringscope-engine.

/// Commands that train, attend or measure. ringscope hands them over to ringscope-engine.
#define RINGSCOPE_ENGINE_COMMANDS(COMMAND)                                                        \
  COMMAND(Train, "train", "Run training steps under context parallelism")                         \
  COMMAND(Attend, "attend", "Run one attention, forward and backward, under context parallelism") \
  COMMAND(Checkpoint, "checkpoint",                                                               \
          "Show the contents of a checkpoint, or write its weights as one safetensors file")      \
  COMMAND(Bench, "bench", "Run a benchmark together with what it is compared with")

/// Commands that read recordings. ringscope runs them itself, without LibTorch.
#define RINGSCOPE_READING_COMMANDS(COMMAND)                                                      \
  COMMAND(Diff, "diff",                                                                          \
          "Show where a run first differs from unsharded attention or from another run")         \
  COMMAND(Doctor, "doctor", "Find sharding mistakes in a trace")                                 \
  COMMAND(Mistakes, "mistakes", "List the known mistakes of context parallelism")                \
  COMMAND(Verify, "verify", "Recompute recorded attention in fp64 and compare")                  \
  COMMAND(Info, "info", "Show the contents of a trace")                                          \
  COMMAND(Query, "query", "Query a trace with SQL")                                              \
  COMMAND(Export, "export", "Write a trace for other programs")                                  \
  COMMAND(Import, "import", "Convert a recorded PyTorch job to a trace")                         \
  COMMAND(Listen, "listen",                                                                      \
          "Follow a PyTorch job while it runs, and report which rank waits for which")           \
  COMMAND(Merge, "merge", "Join the files of rank processes, one file per rank, into one trace") \
  COMMAND(Plan, "plan", "Compare the load balances for documents of your lengths")               \
  COMMAND(Predict, "predict", "Predict step time and exposed communication on other hardware")   \
  COMMAND(Mcp, "mcp", "Serve read-only tools for agents over the Model Context Protocol")        \
  COMMAND(Serve, "serve", "Serve a recording to a reader on another machine")                    \
  COMMAND(Gui, "gui", "Start the window")

/// Two arguments for the COMMAND parameter above, for use in namespace ringscope::app. The first
/// declares the function of a command; the second is an entry of an array of Command.
#define RINGSCOPE_DECLARE_COMMAND(Name, name, description) \
  void define##Name(CLI::App& command, int& exit_code);
#define RINGSCOPE_COMMAND_ENTRY(Name, name, description) {name, description, define##Name},
