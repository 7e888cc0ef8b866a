/* The executable file of this process. */
#pragma once

/* A path for starting this program again, or for reading it. It names the file that this process runs, even when a
 * newer file has replaced it since. The text lives as long as the process. */
const char *program_path(void);
