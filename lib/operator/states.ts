/** Every check of the system health page, by the section that shows it. */
export const CHECK_GROUPS = {
  work: ['workers', 'charges', 'withdrawals', 'refunds', 'deliveries', 'mails', 'search'],
  outside: ['gateway', 'certificates', 'receivers', 'endpoints', 'mail_server', 'ended'],
  database: [
    'database',
    'connections',
    'transactions',
    'durability',
    'clocks',
    'migrations',
    'roles',
    'backups',
    'drill',
  ],
  books: ['ledger', 'address', 'staff', 'tokens'],
} as const

export const SUBJECT_KINDS = ['account', 'bank', 'withdrawal', 'refund', 'return'] as const

/** The account, bank or order that a finding concerns; the health page links to it. */
export interface FindingSubject {
  kind: (typeof SUBJECT_KINDS)[number]
  id: string
  name: string
}

export type CheckGroupName = keyof typeof CHECK_GROUPS
export type CheckName = (typeof CHECK_GROUPS)[CheckGroupName][number]
