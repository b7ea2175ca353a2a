// main.cpp - `espalier`: parses arguments, runs one subcommand, and converts exceptions to one sentence and an exit
// code.
//
// Exit codes: 0 success; 1 a failure or a wrong result; 2 invalid arguments.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "cli/commands.hpp"
#include "cli/errors.hpp"

namespace {

int refuse(const std::string& sentence, int code) {
  std::fprintf(stderr, "espalier: %s\n", sentence.substr(0, sentence.find('\n')).c_str());
  return code;
}

#ifdef ESPALIER_HAS_BENCH
/// Returns the command line for result files. Paths of outputs and of peer programs are omitted: they do not affect the
/// result and would reveal folders of this machine.
std::string joined(int argc, char** argv) {
  std::string text = "espalier";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string name = word.substr(0, word.find('='));
    if (name != "--out" && name != "--trace" && name != "--duckdb-python") {
      text += " " + word;
    } else if (name == word) {
      ++i;
    }
  }
  return text;
}
#endif

/// CLI11 would only report that a subcommand is missing.
bool is_unknown_subcommand(CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return false;
  return app.get_subcommands([&](CLI::App* known) { return known->check_name(argv[1]); }).empty();
}

/// Lists subcommands for use in a sentence: "demo, bench and info".
std::string subcommand_names(CLI::App& app) {
  const auto known = app.get_subcommands([](CLI::App*) { return true; });
  std::string names;
  for (std::size_t i = 0; i < known.size(); ++i) {
    names += i == 0 ? "" : i + 1 == known.size() ? " or " : ", ";
    names += known[i]->get_name();
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` fails with a sentence instead of ending the process
  CLI::App app("Ordered indexes at memory speed, on CPU and GPU.", "espalier");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  espalier demo\n"
#ifdef ESPALIER_HAS_BENCH
      "  espalier bench static --keys 2^24 --ops find,range --peers lower-bound,std-map\n"
#endif
      "  espalier explore\n  espalier info --format json\n"
#ifdef ESPALIER_HAS_ENGINE
      "  espalier sql -c \"SELECT count(*) FROM read_parquet('orders.parquet')\"\n"
#endif
      "\n`espalier SUBCOMMAND --help` tells more.");
  espalier::cli::action chosen;
  espalier::cli::add_demo(app, chosen);
#ifdef ESPALIER_HAS_ENGINE
  espalier::cli::add_sql(app, chosen);
  espalier::cli::add_import(app, chosen);
  espalier::cli::add_tables(app, chosen);
  espalier::cli::add_explain(app, chosen);
  espalier::cli::add_verify(app, chosen);
#endif
#ifdef ESPALIER_HAS_BENCH
  espalier::cli::add_bench(app, chosen, joined(argc, argv));
#endif
  espalier::cli::add_explore(app, chosen);
  espalier::cli::add_info(app, chosen);
  espalier::cli::add_version(app, chosen);
  if (argc == 1) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
#ifndef ESPALIER_HAS_BENCH
  if (std::string(argv[1]) == "bench") {
    return refuse("This build has no benchmarks: configure it with -DESPALIER_BUILD_BENCH=ON and build it again.", 2);
  }
#endif
  if (is_unknown_subcommand(app, argc, argv)) {
    return refuse(std::string("There is no subcommand '") + argv[1] + "': choose " + subcommand_names(app) + ".", 2);
  }
  try {
    app.parse(argc, argv);
    return chosen ? chosen() : 0;
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const std::string subcommand = argc > 1 && argv[1][0] != '-' ? std::string(argv[1]) + " " : "";
    return refuse(std::string(e.what()) + " (see espalier " + subcommand + "--help)", 2);
  } catch (const espalier::cli::bad_arguments& e) {
    return refuse(e.what(), 2);
  } catch (const std::bad_alloc&) {
    return refuse("the host's memory ran out: try fewer keys, queries or rows.", 1);
  } catch (const std::exception& e) {
    return refuse(e.what(), 1);
  }
}
