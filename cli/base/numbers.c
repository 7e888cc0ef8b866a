/* Keeps lists of numbers until all of them are dropped. */
#include "cli/base/numbers.h"

#include <pthread.h>
#include <stdlib.h>

static struct list {
  struct list *next;
  double value[];
} * lists;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* cards answer in threads of their own */

double *numbers_keep(size_t count) {
  struct list *list = malloc(sizeof *list + count * sizeof *list->value);
  if (list == NULL) return NULL;
  pthread_mutex_lock(&mutex);
  list->next = lists;
  lists = list;
  pthread_mutex_unlock(&mutex);
  return list->value;
}

void numbers_drop(void) {
  while (lists != NULL) {
    struct list *next = lists->next;
    free(lists);
    lists = next;
  }
}
