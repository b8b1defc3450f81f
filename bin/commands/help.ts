const HELP = `troco <command>

  start                                         web, worker and, without DATABASE_URL, PostgreSQL
  worker                                        the worker alone
  migrate                                       bring the database to this version
  doctor                                        what is set up, and what is wrong with it
  ledger verify [--account <e-mail|id>]         hold the books against their promises
  account list                                  a line each: id, owner, state, name
  account create --name <…> --email <…>         open an account; prints its id
  account activate|suspend <e-mail|id> --reason <…>
  user create --email <…> [--name <…>] [--admin]
  user reset --email <…>                        a link by which to choose a new password
  token create --account <e-mail|id> --name <…> [--mode test|live] [--permissions a,b]
  token revoke <id|prefix> [--reason <…>]
  webhook secret --account <e-mail|id> [--mode test|live]
`

/** Asked for, it is the answer; after a command that does not exist, it is an error. */
export function showHelp(words: string[]): void {
  const wanted = words.length === 0 || words[0] === 'help' || words[0] === '--help'
  if (wanted) {
    process.stdout.write(HELP)
    return
  }
  process.stderr.write(`There is no command \`${words.join(' ')}\`.\n\n${HELP}`)
  process.exitCode = 1
}
