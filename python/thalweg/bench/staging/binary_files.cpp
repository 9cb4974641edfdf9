// One rank that writes or reads binary files, a file a step and writer, with C++ standard streams.
//
// binary_files write|read FOLDER DOMAIN LAYOUT WRITERS RANK BLOCK...
//   DOMAIN  N0,N1,N2         cells, slowest axis first
//   LAYOUT  left|right       how a reader wants its cells to lie
//   RANK    which block is this rank's own: of the writers' when it writes, behind theirs when it reads
//   BLOCK   L0,L1,L2,E0,E1,E2 of each writer, then of each reader
// For each step's number on standard input it answers with the seconds that the step took; it ends with its input.
// A cell's value is its place in the domain, and one half more in each step.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Cells = std::array<std::int64_t, 3>;

struct Block {
    Cells lower, extent;
    std::int64_t count() const { return extent[0] * extent[1] * extent[2]; }
};

[[noreturn]] void fail(const std::string& why) {
    std::cerr << why << std::endl;
    std::exit(1);
}

std::vector<std::int64_t> numbers(const std::string& words) {
    std::vector<std::int64_t> found;
    std::istringstream in(words);
    for (std::string word; std::getline(in, word, ',');) found.push_back(std::stoll(word));
    return found;
}

double value(const Cells& domain, std::int64_t i, std::int64_t j, std::int64_t k, int step) {
    return double((i * domain[1] + j) * domain[2] + k) + 0.5 * step;
}

std::string path(const std::string& folder, int step, int writer) {
    return folder + "/step-" + std::to_string(step) + "-writer-" + std::to_string(writer);
}

void write(const std::string& name, const std::vector<double>& cells) {
    std::ofstream file(name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(cells.data()), std::streamsize(cells.size() * sizeof(double)));
    file.close();
    if (!file) fail("cannot write " + name);
}

// What a writer's file has of `mine` goes into its place in `cells`, row-major: in one go where it lies in one piece.
void read(const std::string& name, const Block& theirs, const Block& mine, std::vector<double>& cells) {
    Cells from, to;
    for (int axis = 0; axis < 3; ++axis) {
        from[axis] = std::max(theirs.lower[axis], mine.lower[axis]);
        to[axis] = std::min(theirs.lower[axis] + theirs.extent[axis], mine.lower[axis] + mine.extent[axis]);
        if (from[axis] >= to[axis]) return;
    }
    const auto at = [](const Block& block, std::int64_t i, std::int64_t j, std::int64_t k) {
        return ((i - block.lower[0]) * block.extent[1] + (j - block.lower[1])) * block.extent[2] + (k - block.lower[2]);
    };
    const std::int64_t row = to[2] - from[2], rows = to[1] - from[1], planes = to[0] - from[0];
    const bool whole_rows = row == theirs.extent[2] && row == mine.extent[2];
    const bool whole_planes = whole_rows && rows == theirs.extent[1] && rows == mine.extent[1];
    const std::int64_t run = row * (whole_rows ? rows : 1) * (whole_planes ? planes : 1);
    std::ifstream file(name, std::ios::binary);
    for (std::int64_t i = from[0]; i < to[0]; i += whole_planes ? planes : 1) {
        for (std::int64_t j = from[1]; j < to[1]; j += whole_rows ? rows : 1) {
            file.seekg(at(theirs, i, j, from[2]) * std::int64_t(sizeof(double)));
            file.read(reinterpret_cast<char*>(&cells[std::size_t(at(mine, i, j, from[2]))]),
                      std::streamsize(std::size_t(run) * sizeof(double)));
        }
    }
    if (!file) fail("cannot read " + name);
}

// Row-major to column-major, in tiles that stay in the cache.
void transpose(const Cells& n, const std::vector<double>& right, std::vector<double>& left) {
    constexpr std::int64_t tile = 32;
    for (std::int64_t j = 0; j < n[1]; ++j)
        for (std::int64_t i0 = 0; i0 < n[0]; i0 += tile)
            for (std::int64_t k0 = 0; k0 < n[2]; k0 += tile)
                for (std::int64_t k = k0; k < std::min(k0 + tile, n[2]); ++k)
                    for (std::int64_t i = i0; i < std::min(i0 + tile, n[0]); ++i)
                        left[std::size_t((k * n[1] + j) * n[0] + i)] = right[std::size_t((i * n[1] + j) * n[2] + k)];
}

}  // namespace

int main(int count, char** words) {
    if (count < 8) fail("binary_files: too few arguments");
    const bool writes = std::string(words[1]) == "write", turns = std::string(words[4]) == "left";
    const std::string folder = words[2];
    const auto n = numbers(words[3]);
    const Cells domain{n[0], n[1], n[2]};
    const int writers = std::stoi(words[5]), rank = std::stoi(words[6]);
    std::vector<Block> blocks;
    for (int at = 7; at < count; ++at) {
        const auto b = numbers(words[at]);
        blocks.push_back({{b[0], b[1], b[2]}, {b[3], b[4], b[5]}});
    }
    const Block mine = blocks.at(std::size_t(writes ? rank : writers + rank));
    std::vector<double> cells(std::size_t(mine.count())), turned(writes || !turns ? 0 : cells.size());
    std::cout << "ready" << std::endl;
    for (int step; std::cin >> step;) {
        if (writes) {
            std::size_t place = 0;
            for (std::int64_t i = 0; i < mine.extent[0]; ++i)
                for (std::int64_t j = 0; j < mine.extent[1]; ++j)
                    for (std::int64_t k = 0; k < mine.extent[2]; ++k)
                        cells[place++] = value(domain, mine.lower[0] + i, mine.lower[1] + j, mine.lower[2] + k, step);
        }
        const auto begin = std::chrono::steady_clock::now();
        if (writes) {
            write(path(folder, step, rank), cells);
        } else {
            for (int writer = 0; writer < writers; ++writer)
                read(path(folder, step, writer), blocks[std::size_t(writer)], mine, cells);
            if (turns) transpose(mine.extent, cells, turned);
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        if (!writes) {
            for (std::int64_t at = 0; at < mine.count(); at += 509) {
                const std::int64_t i = at / (mine.extent[1] * mine.extent[2]);
                const std::int64_t j = at / mine.extent[2] % mine.extent[1], k = at % mine.extent[2];
                const std::int64_t place = turns ? (k * mine.extent[1] + j) * mine.extent[0] + i : at;
                const double got = (turns ? turned : cells)[std::size_t(place)];
                if (got != value(domain, mine.lower[0] + i, mine.lower[1] + j, mine.lower[2] + k, step))
                    fail("a wrong value in step " + std::to_string(step));
            }
        }
        std::printf("%.9f\n", took.count());
        std::fflush(stdout);
    }
}
