import type { Command } from 'commander'
import { requireConfirmation, type YesFlag } from '../confirmation.ts'
import { type Io, write } from '../io.ts'
import { type JsonFlag, toResult } from '../json.ts'
import type { Operations } from '../operations.ts'
import { jsonOption, yesOption } from '../options.ts'
import { printable } from '../printable.ts'
import { Refusal } from '../refusal.ts'
import { readableFile } from './source.ts'
import { createTarget } from './target.ts'

interface BackupFlags extends JsonFlag {
  readonly skip?: readonly string[]
}

interface UpgradeFlags extends BackupFlags {
  readonly oldBinaries: string
}

const REPLACED = 'Replace all customers and tokens of the database by those of the backup?'

/** Declares the commands `backup` and `restore`. */
export function addBackupCommands(program: Command, operations: Operations, io: Io): void {
  program
    .command('backup')
    .argument('<file>', 'a new file; - for standard output')
    .option('--skip <table>', 'a table of another program to leave out; repeatable', gather)
    .addOption(jsonOption())
    .description('write all data to one file')
    .action((file: string, flags: BackupFlags) => backUp(file, flags))
  program
    .command('restore')
    .argument('<file>', 'a file that the command backup has written')
    .addOption(yesOption())
    .addOption(jsonOption())
    .description('replace all data by that of a backup')
    .action((file: string, flags: YesFlag & JsonFlag) => restore(file, flags))
  program
    .command('upgrade-data')
    .requiredOption('--old-binaries <folder>', 'where npm has installed the earlier PostgreSQL')
    .option('--skip <table>', 'a table of another program to leave out; repeatable', gather)
    .addOption(jsonOption())
    .description('upgrade the embedded data to this major version')
    .action((flags: UpgradeFlags) => upgrade(flags))

  async function upgrade({ oldBinaries, skip = [], ...flags }: UpgradeFlags): Promise<void> {
    const report = await operations.upgradeData({ oldBinaries, skip })
    if (report === null)
      return void (await write(
        io.stdout,
        toResult(flags, { upgraded: false }, 'The data folder is of the current version: nothing to do.'),
      ))
    const { from, to, bytes, dataDir, oldDataDir, tables } = report
    const rows = sum(tables.map((table) => table.rows))
    const result = {
      upgraded: true,
      from,
      to,
      bytes,
      data_dir: dataDir,
      old_data_dir: oldDataDir,
      tables: tables.map(toCounts),
    }
    const sentence = `Upgraded ${printable(dataDir)} from PostgreSQL ${from} to ${to}: ${rows} rows of ${tables.length} tables, ${bytes} bytes. The old data is now in ${printable(oldDataDir)}; delete it once the service runs.`
    await write(io.stdout, toResult(flags, result, sentence))
  }

  async function backUp(file: string, { skip = [], ...flags }: BackupFlags): Promise<void> {
    const target = await createTarget(file, io)
    try {
      const { tables } = await operations.backUp({ write: target.write, skip })
      await target.complete()
      const rows = sum(tables.map((table) => table.rows))
      const result = { file, bytes: target.bytes(), tables: tables.map(toCounts) }
      const sentence = `Wrote ${rows} rows of ${tables.length} tables, ${target.bytes()} bytes, to ${printable(file)}.`
      // Standard output is the backup itself.
      if (file === '-') await write(io.stderr, `latchkey: ${sentence.replace(' to -', '')}\n`)
      else await write(io.stdout, toResult(flags, result, sentence))
    } finally {
      await target.close()
    }
  }

  async function restore(file: string, flags: YesFlag & JsonFlag): Promise<void> {
    const source = await readableFile(file)
    try {
      const { tables, createdAt } = await operations.restore({
        read: source.read,
        async confirm() {
          if (flags.yes !== true && io.stdin.isTTY !== true)
            throw new Refusal(
              'The database is not empty. Add --yes to replace its data. Nothing was changed.',
            )
          await requireConfirmation(REPLACED, flags, io)
        },
      })
      const rows = sum(tables.map((table) => table.rows))
      const result = { created_at: createdAt, tables: tables.map(toCounts) }
      const sentence = `Restored ${rows} rows of ${tables.length} tables, as of ${printable(createdAt)}.`
      await write(io.stdout, toResult(flags, result, sentence))
    } finally {
      await source.close()
    }
  }
}

function toCounts({ table, rows }: { readonly table: string; readonly rows: number }): object {
  return { table, rows }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function gather(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value]
}
