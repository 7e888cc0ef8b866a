/* Keeps lists of numbers until all of them are dropped. */
#include "cli/base/numbers.h"

#include <stdlib.h>

static struct list {
  struct list *next;
  double value[];
} * lists;

double *numbers_keep(size_t count) {
  struct list *list = malloc(sizeof *list + count * sizeof *list->value);
  if (list == NULL) return NULL;
  list->next = lists;
  lists = list;
  return list->value;
}

void numbers_drop(void) {
  while (lists != NULL) {
    struct list *next = lists->next;
    free(lists);
    lists = next;
  }
}
