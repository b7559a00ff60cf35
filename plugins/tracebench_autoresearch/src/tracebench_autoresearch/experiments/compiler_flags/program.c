/* Blurs a picture, counts pairs and sorts: whole numbers alone, so that no flag changes what is printed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 512, ROUNDS = 700, NUMBERS = 8000 };
static uint16_t one[SIDE][SIDE], other[SIDE][SIDE];
static uint32_t numbers[NUMBERS], state;

static uint32_t draw(void) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void blur(uint16_t from[SIDE][SIDE], uint16_t to[SIDE][SIDE]) {
    for (int y = 1; y < SIDE - 1; y++)
        for (int x = 1; x < SIDE - 1; x++)
            to[y][x] = (uint16_t)((from[y][x] * 4 + from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1]) >> 3);
}

int main(int argc, char **argv) {
    state = argc > 1 ? (uint32_t)strtoul(argv[1], 0, 10) | 1u : 1u;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) one[y][x] = (uint16_t)(draw() & 4095);
    for (int i = 0; i < ROUNDS; i++) {
        blur(one, other);
        blur(other, one);
    }
    for (int i = 0; i < NUMBERS; i++) numbers[i] = draw() % 100000;
    uint32_t pairs = 0, sum = 0;
    for (int i = 0; i < NUMBERS; i++)
        for (int j = 0; j < NUMBERS; j++) pairs += numbers[i] + numbers[j] > 100000;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) sum = sum * 31 + one[y][x];
    printf("%u %u\n", pairs, sum);
    return 0;
}
