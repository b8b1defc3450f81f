import { FlaskConical } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { QRCodeSVG } from 'qrcode.react'
import type { ComponentProps } from 'react'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { ReceiptActions } from '#components/receipt/receipt-actions.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { ReceiptSheet } from '#lib/dashboard/schema.ts'

interface ReceiptPageProps {
  sheet: ReceiptSheet
  /** The page of the charge or withdrawal, and the endpoint of its PDF. */
  parent: { href: string; label: string }
  pdfPath: ComponentProps<typeof ReceiptActions>['path']
}

/** A receipt to print: only the sheet goes on paper. */
export function ReceiptPage({ sheet, parent, pdfPath }: ReceiptPageProps) {
  const t = useTranslations('receipt')
  return (
    <ClientMessages namespaces={['receipt']}>
      <div className="print:hidden">
        <PageHead title={t('title')} parent={parent}>
          <ReceiptActions path={pdfPath} id={sheet.id} />
        </PageHead>
      </div>
      <Sheet
        data-testid="receipt"
        className="max-w-[760px] overflow-hidden print:max-w-none print:rounded-none print:border-0 print:shadow-none"
      >
        {sheet.mode === 'test' ? <TestNotice /> : null}
        <div className="px-4 py-5 md:px-7 md:py-6">
          <ReceiptHead sheet={sheet} />
          <div className="mt-6 border-line border-t pt-5">
            <Facts>
              {sheet.rows.map(({ name, value, isCode }) => (
                <Fact key={name} name={name}>
                  <span className={isCode ? 'break-all font-mono text-[13px]' : 'font-medium'}>
                    {value}
                  </span>
                </Fact>
              ))}
            </Facts>
          </div>
          <ReceiptCheck sheet={sheet} />
          <p className="mt-6 border-line border-t pt-4 font-semibold">{t('notFiscal')}</p>
        </div>
      </Sheet>
    </ClientMessages>
  )
}

function TestNotice() {
  const t = useTranslations('receipt')
  return (
    <p className="flex gap-2.5 border-test border-t-4 bg-test-soft px-4 py-3 text-small text-test md:px-7">
      <FlaskConical size={16} aria-hidden className="mt-0.5 shrink-0" />
      <span>
        <strong className="font-semibold">{t('test')}.</strong> {t('testText')}
      </span>
    </p>
  )
}

function ReceiptHead({ sheet: { merchant, cnpj, operation, amount } }: { sheet: ReceiptSheet }) {
  const t = useTranslations('receipt')
  return (
    <>
      <p className="font-display font-semibold text-title">{t('title')}</p>
      <p className="mt-1 break-words">{merchant}</p>
      {cnpj ? <p className="text-muted text-small">CNPJ {cnpj}</p> : null}
      <p className="mt-6 text-muted">{operation}</p>
      <p
        data-testid="receipt-amount"
        className="whitespace-nowrap font-bold font-display text-[min(34px,8vw)] leading-tight sm:text-[44px]"
      >
        {amount}
      </p>
    </>
  )
}

/** Size in CSS pixels: cameras still read the code of about 60 modules from a screen. */
const QR_SIZE_PX = 168
/** Margin around the QR code in modules, as ISO/IEC 18004 requires. */
const QUIET_ZONE_MODULES = 4

function ReceiptCheck({ sheet: { url, address } }: { sheet: ReceiptSheet }) {
  const t = useTranslations('receipt')
  return (
    <div className="mt-6 flex flex-wrap items-center gap-x-6 gap-y-4 border-line border-t pt-5">
      <QRCodeSVG
        role="img"
        aria-label={t('qr')}
        data-testid="receipt-qr"
        value={url}
        level="M"
        size={QR_SIZE_PX}
        marginSize={QUIET_ZONE_MODULES}
        fgColor="#17211D"
        bgColor="#FFFFFF"
        className="block shrink-0 rounded-control border border-line"
      />
      <div className="min-w-0 flex-1 basis-64">
        <p className="font-semibold text-small">{t('check')}</p>
        <p className="mt-0.5 break-words text-muted text-small">{t('checkText', { address })}</p>
      </div>
    </div>
  )
}
