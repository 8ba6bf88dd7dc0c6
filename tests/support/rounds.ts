/** The number of rounds of a reliability test: `ROUNDS_<ROW>` of the environment, else a size for CI. */
export function rounds(row: string, ciSize: number): number {
  const asked = Number(process.env[`ROUNDS_${row}`])
  return Number.isInteger(asked) && asked > 0 ? asked : ciSize
}
