/* Which files are redirected: the rules, the component, and the paths that match. */
#define _GNU_SOURCE
#include "redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RULES_MAX = 256 };

typedef struct {
  bool left_alone, replays, forgives;
  char *pattern;
  thalweg_file_rule rule;
} entry_t;

static entry_t entries[RULES_MAX];
static int entry_count;
static const char *known_component;
static pthread_once_t read_once = PTHREAD_ONCE_INIT;

/* The next line of `*text`, cut at its end; NULL when there is none. */
static char *next_line(char **text) { return *text && **text ? strsep(text, "\n") : NULL; }

enum { WORDS_MAX = 4 };

/* The bases of the program's name and of its first arguments; how many there are. */
static int first_words(char *words[WORDS_MAX]) {
  FILE *given = ((FILE * (*)(const char *, const char *)) real_libc("fopen"))("/proc/self/cmdline", "re");
  if (!given) return 0;
  int count = 0;
  char *word = NULL;
  size_t room = 0;
  while (count < WORDS_MAX && getdelim(&word, &room, 0, given) > 0) {
    const char *slash = strrchr(word, '/');
    words[count++] = strdup(slash ? slash + 1 : word);
  }
  free(word);
  fclose(given);
  return count;
}

/* As the launcher says; else the first whose pattern one of the first words matches; where no components are named, the program
   or the script. */
static const char *find_component(void) {
  const char *given = getenv("THALWEG_REDIRECT_COMPONENT"), *known = getenv("THALWEG_REDIRECT_COMPONENTS");
  if (given && *given) return given;
  char *words[WORDS_MAX], *rest = known ? strdup(known) : NULL;
  int count = first_words(words);
  if (!rest || !*rest) {
    for (int n = 1; n < count && strncmp(words[0], "python", 6) == 0; n++)
      if (*words[n] != '-' && *words[n]) return words[n];
    return program_invocation_short_name;
  }
  for (char *line; (line = next_line(&rest));) {
    char *name = strsep(&line, "\t");
    for (int n = 0; line && n < count; n++)
      if (fnmatch(line, words[n], 0) == 0) return name;
  }
  return NULL;
}

/* Lines of mode, deadline in seconds, turns, replay, unwritten and pattern, with tabs between. */
static void read_rules(void) {
  const char *given = getenv("THALWEG_REDIRECT_RULES");
  if (!getenv("THALWEG_REDIRECT") || !given) return;
  inside++;
  if (!known_component) known_component = find_component();
  char *rest = strdup(given);
  for (char *line; entry_count < RULES_MAX && (line = next_line(&rest));) {
    char *mode = strsep(&line, "\t"), *deadline = strsep(&line, "\t"), *turns = strsep(&line, "\t"),
         *replay = strsep(&line, "\t"), *unwritten = strsep(&line, "\t");
    if (!line) continue;
    entry_t *entry = &entries[entry_count++];
    entry->left_alone = strcmp(mode, "file") == 0;
    entry->rule.mode = strcmp(mode, "both") == 0 ? THALWEG_REDIRECT_BOTH : THALWEG_REDIRECT_MEMORY;
    entry->rule.deadline_s = atof(deadline);
    entry->rule.turns = *turns ? turns : NULL;
    entry->replays = *replay == '1';
    entry->forgives = strcmp(unwritten, "allow") == 0;
    entry->pattern = line;
  }
  inside--;
}

bool redirecting(void) {
  if (inside) return false;
  pthread_once(&read_once, read_rules);
  return known_component && entry_count > 0;
}

bool only_looks(void) {
  const char *looks = getenv("THALWEG_REDIRECT_LOOK");
  return looks && *looks;
}

bool is_alone(void) {
  const char *alone = getenv("THALWEG_REDIRECT_ALONE");
  return alone && *alone;
}

const char *own_component(void) { return known_component; }

void declare_component(const char *name) {
  inside++;
  known_component = strdup(name);
  inside--;
}

/* A pattern without a slash is one of names; one that begins with a slash, of absolute paths; any other, of their ends. */
static const entry_t *entry_for(const char *path, const char *name) {
  for (int n = 0; n < entry_count; n++) {
    const char *pattern = entries[n].pattern;
    if (!strchr(pattern, '/')) {
      if (fnmatch(pattern, name, 0) == 0) return &entries[n];
    } else if (*pattern == '/') {
      if (fnmatch(pattern, path, 0) == 0) return &entries[n];
    } else {
      for (const char *end = path; (end = strchr(end, '/')); end++)
        if (fnmatch(pattern, end + 1, 0) == 0) return &entries[n];
    }
  }
  return NULL;
}

/* Whether a rule names what ends like this; without it no folder is looked up. */
static bool may_match(const char *name) {
  for (int n = 0; n < entry_count; n++) {
    const char *base = strrchr(entries[n].pattern, '/');
    if (fnmatch(base ? base + 1 : entries[n].pattern, name, 0) == 0) return true;
  }
  return false;
}

/* What kind of thing has this name in the file system, as in st_mode; 0: none. */
static mode_t kind_on_disk(int at, const char *path) {
  struct stat found;
  int (*real)(int, const char *, struct stat *, int) =
    (int (*)(int, const char *, struct stat *, int))real_libc("fstatat");
  int before = errno;
  mode_t kind = real(at, path, &found, AT_SYMLINK_NOFOLLOW) == 0 ? found.st_mode & S_IFMT : 0;
  errno = before;
  return kind;
}

bool is_folder(int at, const char *path) { return kind_on_disk(at, path) == S_IFDIR; }

enum { LINKS_MAX = 40 }; /* as the operating system has it */

static bool look_up(int at, const char *path, int links, matched_t *found);

/* What the link at the absolute `path` leads to. */
static bool follow(const char *path, int links, matched_t *found) {
  char target[PATH_BYTES], whole[PATH_BYTES];
  int before = errno;
  ssize_t length = readlink(path, target, sizeof target - 1);
  errno = before;
  if (length <= 0 || links <= 0) return false;
  target[length] = '\0';
  int folder = *target == '/' ? 0 : (int)(strrchr(path, '/') - path) + 1;
  if (snprintf(whole, sizeof whole, "%.*s%s", folder, path, target) >= (int)sizeof whole) return false;
  return look_up(AT_FDCWD, whole, links - 1, found);
}

bool matches(int at, const char *path, matched_t *found) { return look_up(at, path, LINKS_MAX, found); }

bool matches_itself(int at, const char *path, matched_t *found) { return look_up(at, path, -1, found); }

/* Follows at most so many links; less than none: a link matches no rule. */
static bool look_up(int at, const char *path, int links, matched_t *found) {
  if (!path || !*path || !redirecting()) return false;
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !may_match(name)) return false;
  if (strncmp(path, "/proc/", 6) == 0) return false;
  char folder[PATH_BYTES], links_resolved[PATH_BYTES];
  const char *under = at == AT_FDCWD || *path == '/' ? "" : "/proc/self/fd/";
  int length = slash ? (int)(slash - path) : 0;
  const char *inner = slash && length == 0 ? "/" : length ? "" : ".";
  int made = *under ? snprintf(folder, sizeof folder, "%s%d/%.*s%s", under, at, length, path, length ? "" : inner)
                    : snprintf(folder, sizeof folder, "%.*s%s", length, path, inner);
  if (made >= (int)sizeof folder) return false;
  inside++;
  int before = errno;
  char *(*real)(const char *, char *) = (char *(*)(const char *, char *))real_libc("realpath");
  bool there = real(folder, links_resolved) != NULL;
  errno = before;
  inside--;
  if (!there) return false;
  const char *between = strcmp(links_resolved, "/") == 0 ? "" : "/";
  if (snprintf(found->path, sizeof found->path, "%s%s%s", links_resolved, between, name) >= (int)sizeof found->path) return false;
  const entry_t *entry = entry_for(found->path, name);
  if (!entry || entry->left_alone) return false;
  mode_t kind = kind_on_disk(AT_FDCWD, found->path);
  if (kind == S_IFLNK) return links >= 0 && follow(found->path, links, found);
  if (kind == S_IFDIR) return false;
  found->rule = &entry->rule;
  found->replays = entry->replays;
  found->forgives = entry->forgives;
  return true;
}
